// A page fetches itself anew whenever a file is saved: what a person types at that moment stays as it is.
Idiomorph.defaults.ignoreActiveValue = true;
