package config

import (
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/goccy/go-yaml/ast"

	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/tree"
)

// maxGroupMembers bounds the members of a group.
const maxGroupMembers = 1 << 20

// MaxName is the longest name of a group or an action.
const MaxName = 64

var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })

// CheckName refuses a text that cannot be the name of a group or an action.
func CheckName(s string) error {
	if len(s) > MaxName || !names().MatchString(s) {
		return fmt.Errorf("%q is no name: want up to %d letters, digits, and - . _", s, MaxName)
	}
	return nil
}

// ParseTree parses a tree as tree.Parse does.
func ParseTree(s string) (scoll.Tree, error) {
	topology, err := tree.Parse(s)
	switch t := topology.(type) {
	case tree.KNomial:
		return scoll.Tree{Type: scoll.KNomial, K: uint32(t)}, nil
	case tree.KAry:
		return scoll.Tree{Type: scoll.KAry, K: uint32(t)}, nil
	}
	return scoll.Tree{}, err
}

// shape parses a tree. If the text is empty, the tree stays as it is.
func shape(to *scoll.Tree) setting {
	return text(new(string), func(s string) (err error) {
		if s != "" {
			*to, err = ParseTree(s)
		}
		return err
	})
}

// span parses a time with its unit, or 0.
func span(to *time.Duration, least, most time.Duration) setting {
	return setting{func(value ast.Node) error {
		var d time.Duration
		var err error
		switch n := value.(type) {
		case *ast.StringNode:
			d, err = time.ParseDuration(n.Value)
		case *ast.IntegerNode:
			_, err = integer(n, 0, 0) // a number without a unit is accepted only if it is 0
		default:
			err = fmt.Errorf("no time")
		}
		if err != nil || d < least || d > most {
			return fmt.Errorf("want a time from %v to %v such as 500ms, not %q", least, most, value)
		}
		*to = d
		return nil
	}}
}

// oneNID parses a NID. If the text is empty, the NID stays zero.
func oneNID(to *nid.NID) setting {
	return text(new(string), func(s string) (err error) {
		if s == "" {
			*to = nid.NID{}
			return nil
		}
		if *to, err = nid.Parse(s); err == nil && (to.IsAny() || to.IsLo() || !to.IsValid()) {
			err = fmt.Errorf("want one NID of this node, not %s", s)
		}
		return err
	})
}

// entries calls take for each text of a list.
func entries(value ast.Node, what string, take func(string) error) error {
	list, ok := value.(*ast.SequenceNode)
	if !ok {
		return fmt.Errorf("want a list with %s behind each dash, not %q", what, value)
	}
	for _, entry := range list.Values {
		if err := text(new(string), take).put(entry); err != nil {
			return &entryError{entry.GetToken(), err}
		}
	}
	return nil
}

// sets parses a list of expressions for NIDs.
func sets(to *[]nid.Set) setting {
	return setting{func(value ast.Node) error {
		var all []nid.Set
		err := entries(value, "NIDs, such as 10.0.0.[1-20]@tcp", func(s string) error {
			set, err := nid.ParseSet(s)
			all = append(all, set)
			return err
		})
		*to = all
		return err
	}}
}

// members parses the members of a group, in their order.
func members(to *[]nid.NID) setting {
	return setting{func(value ast.Node) error {
		var all []nid.NID
		has := map[nid.NID]bool{}
		err := entries(value, "NIDs, such as 10.0.0.[1-20]@tcp", func(s string) error {
			set, err := nid.ParseSet(s)
			if err != nil {
				return err
			}
			more, err := set.Expand(maxGroupMembers - len(all))
			for _, id := range more {
				switch {
				case id.IsLo() || id.IsAny() || !id.IsValid():
					return fmt.Errorf("%v cannot be a member", id)
				case has[id]:
					return fmt.Errorf("%v is listed twice", id)
				}
				has[id] = true
			}
			all = append(all, more...)
			return err
		})
		*to = all
		return err
	}}
}

// arguments parses a program and its arguments.
func arguments(to *[]string) setting {
	return setting{func(value ast.Node) error {
		var all []string
		err := entries(value, "a program or an argument, quoted unless it is text,", func(s string) error {
			all = append(all, s)
			return nil
		})
		*to = all
		return err
	}}
}
