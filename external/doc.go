// Package external keeps relations between models of two stores, where one has consumed what the
// other one offers. Each model has its half of such a relation, as of one across models of one store
// (see package state); but no transaction is of both stores, so a Link brings what each half says to
// the other one:
//
//	here, which has consumed                 there, which offers
//	AddRelation makes a half   ── Accept ──▶  makes the other half
//	its units' databags, scope ──▶ TakeHalf   as those of the stand-in
//	as those of the SAAS       TakeHalf ◀──   its units' databags, scope
//	life, both ways; suspension and the status of what is offered from there
//
// What is brought is how things are, not what has happened: a Link can be ended at any point and
// begun again, by another process too, and it writes nothing that is there already. What a hook has
// committed on one side is seen on the other later, and of two commits it may be that only the second
// one is; but each is seen whole or not at all in each relation.
//
// It is experimental. What it doesn't do is said in docs/scale.md, "Models in two stores".
package external
