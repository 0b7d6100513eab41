"""From a phrase to terms, to the products that have them, to the best of these first."""
