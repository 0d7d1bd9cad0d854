package tree

import (
	"encoding/json"
	"strconv"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml/ast"
)

// maxNesting is how deeply mappings and lists of a file may be nested; an export has 6 levels.
const maxNesting = 32

// checkNode refuses elements that no configuration has and that could grow when they are read:
// anchors, aliases, merged keys and deep nesting.
func checkNode(n ast.Node, depth int) error {
	if depth > maxNesting {
		return inFile(lineOf(n), syscall.EINVAL, "more than %d levels", maxNesting)
	}
	switch n := n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return inFile(lineOf(n), syscall.EINVAL, "anchors and aliases are not supported")
	case *ast.SequenceNode:
		for _, item := range n.Values {
			if err := checkNode(item, depth+1); err != nil {
				return err
			}
		}
	}
	entries, _ := entriesOf(n)
	for _, e := range entries {
		if _, merge := e.Key.(*ast.MergeKeyNode); merge {
			return checkNode(&ast.AnchorNode{Start: e.Key.GetToken()}, depth)
		}
		if err := checkNode(e.Value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// untag returns the value after a tag, as in ! "text".
func untag(n ast.Node) ast.Node {
	for {
		tag, ok := n.(*ast.TagNode)
		if !ok {
			return n
		}
		n = tag.Value
	}
}

// isNothing reports whether a key has no value.
func isNothing(n ast.Node) bool {
	switch untag(n).(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

// entriesOf returns the keys and values of a mapping.
func entriesOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := untag(n).(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// itemsOf returns the items of a list.
func itemsOf(n ast.Node) ([]ast.Node, bool) {
	s, ok := untag(n).(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	return s.Values, true
}

// valueOf returns the value of a key of a mapping; nil: there is none.
func valueOf(n ast.Node, key string) ast.Node {
	entries, _ := entriesOf(n)
	for _, e := range entries {
		if keyOf(e) == key && !isNothing(e.Value) {
			return untag(e.Value)
		}
	}
	return nil
}

func keyOf(e *ast.MappingValueNode) string { return textOf(e.Key) }

// textOf returns a scalar as it stands in the file, without quotes.
func textOf(n ast.Node) string {
	switch n := untag(n).(type) {
	case nil:
		return ""
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case ast.MapKeyNode:
		return n.GetToken().Value
	default:
		if t := n.GetToken(); t != nil {
			return t.Value
		}
		return n.String()
	}
}

// firstText returns the first scalar of a value, for errors.
func firstText(n ast.Node) string {
	if items, ok := itemsOf(n); ok {
		if len(items) == 0 {
			return "[]"
		}
		return firstText(items[0])
	}
	if entries, ok := entriesOf(n); ok {
		if len(entries) == 0 {
			return "{}"
		}
		return keyOf(entries[0])
	}
	return textOf(n)
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// integer returns a whole number, in decimal or with 0x.
func integer(n ast.Node) (int64, bool) {
	text := strings.TrimSpace(textOf(n))
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		i, err = strconv.ParseInt(text, 0, 64)
	}
	return i, err == nil
}

// appendJSON appends a value as JSON.
func appendJSON(b []byte, n ast.Node) []byte {
	if items, ok := itemsOf(n); ok {
		b = append(b, '[')
		for i, item := range items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	}
	if entries, ok := entriesOf(n); ok {
		b = append(b, '{')
		for i, e := range entries {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, keyOf(e)), ':')
			b = appendJSON(b, e.Value)
		}
		return append(b, '}')
	}
	return appendScalar(b, n)
}

// appendScalar appends a number or boolean as such if it has no quotes.
func appendScalar(b []byte, n ast.Node) []byte {
	switch n := untag(n).(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return append(b, "null"...)
	case *ast.IntegerNode:
		if i, ok := integer(n); ok {
			return strconv.AppendInt(b, i, 10)
		}
	case *ast.BoolNode:
		return strconv.AppendBool(b, n.Value)
	}
	return appendText(b, textOf(n))
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // cannot fail: every string can be marshalled
		return append(b, `""`...)
	}
	return append(b, text...)
}
