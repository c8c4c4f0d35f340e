"""Do the embedding providers keep their promises, above all when something fails?"""
