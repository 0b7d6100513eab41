"""The shop: a package for each family of documents and operations, and what several of
them need.

Families do not import each other. What several need stands beside them: `articles`,
`storefront` and `places`. `shopwindow.shop` puts the families together.
"""
