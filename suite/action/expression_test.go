package action_test

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rhysd/actionlint"
)

// contexts are what expressions look at: github, runner, inputs and steps.
type contexts map[string]any

// inText is an expression in a text.
var inText = regexp.MustCompile(`\$\{\{(.*?)\}\}`)

// expand is a text with the values of its expressions.
func (c contexts) expand(text string) (string, error) {
	var failed error
	out := inText.ReplaceAllStringFunc(text, func(m string) string {
		value, err := c.value(inText.FindStringSubmatch(m)[1])
		if err != nil {
			failed = err
		}
		return shown(value)
	})
	return out, failed
}

// ofStatus says of a condition that it looks at the job's status itself; any other one
// holds only as long as no step has failed.
var ofStatus = regexp.MustCompile(`\b(always|cancelled|failure|success)\(\)`)

// holds is whether a step with that condition is run.
func (c contexts) holds(condition string) (bool, error) {
	condition = strings.TrimSpace(condition)
	if m := inText.FindStringSubmatch(condition); m != nil && m[0] == condition {
		condition = m[1]
	}
	if !ofStatus.MatchString(condition) {
		if c["failed"] == true || condition == "" {
			return c["failed"] != true, nil
		}
	}
	value, err := c.value(condition)
	return truth(value), err
}

// value is that of an expression.
func (c contexts) value(source string) (any, error) {
	node, err := actionlint.NewExprParser().Parse(actionlint.NewExprLexer(source + "}}"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return c.of(node)
}

// of is the value of a node. What GitHub's language has and the action doesn't use is
// an error.
func (c contexts) of(node actionlint.ExprNode) (any, error) {
	switch n := node.(type) {
	case *actionlint.StringNode:
		return n.Value, nil
	case *actionlint.VariableNode:
		return c[n.Name], nil
	case *actionlint.ObjectDerefNode:
		receiver, err := c.of(n.Receiver)
		object, _ := receiver.(map[string]any)
		return object[n.Property], err
	case *actionlint.NotOpNode:
		value, err := c.of(n.Operand)
		return !truth(value), err
	case *actionlint.CompareOpNode:
		left, err := c.of(n.Left)
		if err != nil {
			return nil, err
		}
		right, err := c.of(n.Right)
		same := strings.EqualFold(shown(left), shown(right))
		switch n.Kind {
		case actionlint.CompareOpNodeKindEq:
			return same, err
		case actionlint.CompareOpNodeKindNotEq:
			return !same, err
		}
	case *actionlint.LogicalOpNode:
		left, err := c.of(n.Left)
		if err != nil || truth(left) == (n.Kind == actionlint.LogicalOpNodeKindOr) {
			return left, err
		}
		return c.of(n.Right)
	case *actionlint.FuncCallNode:
		return c.call(n)
	}
	return nil, fmt.Errorf("the runner of the tests doesn't know the expression %T", node)
}

// call is the value of a function.
func (c contexts) call(n *actionlint.FuncCallNode) (any, error) {
	var args []string
	for _, node := range n.Args {
		value, err := c.of(node)
		if err != nil {
			return nil, err
		}
		args = append(args, shown(value))
	}
	switch n.Callee {
	case "always":
		return true, nil
	case "cancelled":
		return false, nil
	case "format":
		text := args[0]
		for i, arg := range args[1:] {
			text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", i), arg)
		}
		return text, nil
	}
	return nil, fmt.Errorf("the runner of the tests doesn't know the function %s", n.Callee)
}

// truth is whether a value counts as true.
func truth(value any) bool { return value != nil && value != false && value != "" }

// shown is a value as text has it.
func shown(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
