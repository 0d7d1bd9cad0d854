package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// sourcesOf returns the settings that the entries of a file contain. The keys of a section have
// its key and a dot in front of them; a list counts as one setting.
func sourcesOf(name, section string, entries []*ast.MappingValueNode) (list []Source) {
	for _, e := range entries {
		key := e.Key.GetToken()
		full := section + key.Value
		inner, err := mapping(name, e.Value)
		if err == nil && len(inner) > 0 {
			list = append(list, sourcesOf(name, full+".", inner)...)
			continue
		}
		list = append(list, Source{full, flow(e.Value), fmt.Sprintf("%s:%d", name, key.Position.Line)})
	}
	return list
}

// flow returns the text of a value on one line.
func flow(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return strings.Join(strings.Fields(n.Value), " ")
	case *ast.LiteralNode: // a block of lines after a |
		return strings.Join(strings.Fields(n.Value.Value), " ")
	case *ast.SequenceNode:
		var parts []string
		for _, value := range n.Values {
			parts = append(parts, flow(value))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *ast.MappingNode:
		var parts []string
		for _, value := range n.Values {
			parts = append(parts, flow(value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *ast.MappingValueNode:
		return n.Key.GetToken().Value + ": " + flow(n.Value)
	case nil, *ast.NullNode:
		return ""
	}
	return n.GetToken().Value
}
