// A page fetches itself anew whenever a file is saved: what a person types at that moment stays as it is.
Idiomorph.defaults.ignoreActiveValue = true;

// It is the page of the address bar, which says what was searched for since it was loaded.
document.addEventListener("htmx:configRequest", event => {
  if (event.target.id === "page") event.detail.path = location.pathname + location.search;
});
