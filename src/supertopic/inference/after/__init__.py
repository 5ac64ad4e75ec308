"""What happens once topics are known: prediction, refitted coefficients, sparse choices, words beside topics."""
