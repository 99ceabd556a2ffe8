// Package schema checks values against JSON schemas of draft 4, in which charms
// describe the parameters of their actions.
//
// It is the whole of the draft's validation, and nothing beside it: references are
// followed within the schema, and never fetched. A library that knows all drafts
// compiles the meta-schemas of each whenever a program starts that has it, which
// takes longer than all else of a command; so the tests compare this package with
// it, and no program links it.
package schema
