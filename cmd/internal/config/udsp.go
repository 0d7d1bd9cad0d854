package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"ulnet/lnet/path"
	"ulnet/lnet/udsp"
)

// udspSection parses the section udsp: selection rules, in their order.
func udspSection(to *[]udsp.Rule, file string) setting {
	return setting{func(value ast.Node) error {
		seq, ok := value.(*ast.SequenceNode)
		if !ok {
			return fmt.Errorf("want a list with src, dst, rte and priority behind each dash, not %q", value)
		}
		var list udsp.List
		for _, entry := range seq.Values {
			keys, err := mapping(file, entry)
			if err != nil {
				return err
			}
			var r udsp.Rule
			if err := assign(udspKeys(&r, file), file, keys); err != nil {
				return err
			}
			if list, err = list.Add(r, -1); err != nil {
				return &entryError{entry.GetToken(), err}
			}
		}
		*to = list.Rules()
		return nil
	}}
}

// udspKeys returns the keys of a selection rule, including those that only 'lnetctl export'
// prints.
func udspKeys(r *udsp.Rule, file string) map[string]setting {
	priority := setting{func(value ast.Node) error {
		n, err := integer(value, 0, int(path.NoPriority-1))
		r.Priority = path.Priority(n)
		return err
	}}
	return map[string]setting{
		"src": udspPattern(&r.Src), "dst": udspPattern(&r.Dst), "rte": udspPattern(&r.Rte),
		"priority": priority,
		"idx":      unused(0, maxCount), // ignored, because the order of the rules is that of the list
		"action":   section(file, map[string]setting{"priority": priority}, nil),
	}
}

func udspPattern(to *udsp.Pattern) setting {
	var s string
	return text(&s, func(s string) (err error) {
		if *to, err = udsp.ParsePattern(s); err == nil && !to.IsValid() {
			err = fmt.Errorf("want a net such as tcp1, or NIDs such as 10.0.0.[1-9]@tcp")
		}
		return err
	})
}
