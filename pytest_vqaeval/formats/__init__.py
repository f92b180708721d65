"""The ways of writing a question: one file each, from a row of a data file to a `Question`."""
