"""Other libraries' models on our partitions, each in an environment of its own."""
