// Package pattern has regular expressions that are compiled when they are first used.
//
// A program has a hundred of them and a command needs three: compiled as variables of
// their packages, they would cost each start of the program more than the command.
// Package regexp is for what is compiled where it is used, and for tests.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. Anybody may use it at the same time.
type Pattern struct{ compiled func() *regexp.Regexp }

// New is the pattern of an expression as package regexp has it. One that isn't such
// panics when it is first used; the tests of the walls compile all that there are.
func New(expression string) *Pattern {
	return &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// Regexp is the compiled expression, with all its methods.
func (p *Pattern) Regexp() *regexp.Regexp { return p.compiled() }

// MatchString says whether there is a match in s.
func (p *Pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

// FindStringSubmatch is the first match in s with its groups; nil: there is none.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }
