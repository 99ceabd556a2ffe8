// Package clients has real clients of the juju command work with unitd: Jubilant, and
// pytest-jubilant, from PyPI, in the versions that requirements.txt names. It has tests
// alone. README.md says what they show, and how a version is raised.
//
//	methods   every method of Jubilant, and every field of its dataclasses
//	plugin    the fixtures and options of pytest-jubilant
//	suite     what a charm's own suite looks like: two Ops charms and their life
//	charms    a charm for the first two, in one script
package clients
