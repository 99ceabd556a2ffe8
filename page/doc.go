// Package page is the page of a model: what it shows, as values that a browser gets as
// JSON, and the files that show them there.
//
// What is shown in many places, and changes often, comes in parts: the model itself, each
// application, unit, relation and machine, and each hook run. A part has a key, such as
// "unit/shop/0". A browser gets all parts once, and after each change those that differ
// ([Encoded.Since]). What is shown of one unit at a time, its databags for example, is a
// [Detail], which the browser asks for.
//
// Nothing here reads a store or listens; package page/live does. [Static] is the page as
// a file of its own, with all of it inside. [Plain] is a document in the same style for what is
// no model, such as a report. docs/page.md says what people see.
package page
