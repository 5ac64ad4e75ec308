"""What a fit consists of beside the engine: training documents, streams, several fits, words beside topics."""
