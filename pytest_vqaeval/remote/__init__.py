"""Data on the hubs: where a file is published, how it is fetched whole, and how it is read in place."""
