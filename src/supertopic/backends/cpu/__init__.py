"""Operations on documents and topics that lie in the memory of this process."""
