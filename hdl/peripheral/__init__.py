"""A design as a peripheral on a bus: registers around the file that is proven."""
