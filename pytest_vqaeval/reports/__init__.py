"""What a run means, for people and for programs."""
