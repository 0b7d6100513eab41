"""A local web application over the content folder: what editors look at while they
write.

A thread watches the folder. Whenever a file is saved, the whole content is checked
again (`workspace`), from memory where files did not change, and every open page fetches
itself again. Pages are rendered on the server by Jinja2 (templates/preview) and are
complete without JavaScript; with it, htmx swaps the part of a page that changed.

Each request sees one `Snapshot`: the outcome of one check. Pages show the documents of
the last check that found no problem, so that a half-written file leaves the last good
page on the screen, marked as old.

`pages` holds a module for each page. A page is a function from `Visit`, which is a
request with the snapshot and the choices of the bar, to `Page`, a template and its
values. Pages of any kind of document follow from the Kind; a family of the shop may
have a page of its own.
"""
