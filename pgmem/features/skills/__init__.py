"""Skills: procedures of the memory as folders of files, for clients that read such."""
