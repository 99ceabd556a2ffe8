// Package web makes what a browser shows of a check's report: a page for people who look
// at what CI has kept, and a badge for a README.
//
// Both are one file each, which needs no network. The page has the style of package page. All of it
// can be read without scripts, and without telling colours apart. What is in a report comes from
// charms, so whatever isn't markup is escaped. docs/check.md says what the page is for.
package web
