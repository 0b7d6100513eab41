// A page fetches itself anew whenever a file is saved: what a person types at that moment stays as it is.
// Of anything else that has the focus, such as a heading that folds, the morph would leave out what is new in it.
document.addEventListener("htmx:beforeSwap", () => {
  Idiomorph.defaults.ignoreActiveValue = document.activeElement.matches("input, select, textarea");
});

// It is the page of the address bar, which says what was searched for since it was loaded.
document.addEventListener("htmx:configRequest", event => {
  if (event.target.id === "page") event.detail.path = location.pathname + location.search;
});
