// Package top is the screen of `unitd top`: a model in a terminal, as it is and as it
// changes. It shows what the page of the model has, which comes as events; see package
// page.
//
// [Screen] is a value: a key or an event makes another one of it, and View draws it. So it
// is tested without a terminal. It fits into 80 columns and 24 lines, and uses what there
// is of more.
package top
