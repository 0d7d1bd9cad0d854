package tree

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml/ast"

	"ulnet/lnet/nid"
)

// sections has the functions that read the values of top-level keys of a file.
var sections = map[string]func(*File, *Section, ast.Node){
	"net": (*File).nets, "route": each((*File).route), "peer": each((*File).peer), "udsp": each((*File).udsp),
	"routing": (*File).routing, "buffers": (*File).buffers, "global": (*File).global,
	"ping": each((*File).target), "discover": each((*File).target), "numa": (*File).numa,
}

// ReadSection reads the value of one key, from a file that may have other keys as well. Unlike
// Read it refuses unknown keys. An error is an *Error with its line.
func ReadSection(key string, value ast.Node) (*Section, error) {
	if err := checkNode(value, 0); err != nil {
		return nil, err
	}
	s := &Section{Key: key, Line: lineOf(value)}
	f := new(File)
	f.noteUnknown(key, value)
	sections[key](f, s, value)
	switch bad := f.unknown.first(); {
	case bad != nil:
		return nil, bad
	case len(s.Errs) > 0:
		return nil, s.Errs[0]
	case len(f.ignored) > 0:
		return nil, f.ignored[0]
	}
	return s, nil
}

// each returns a function that reads the items of a list, until one has errors.
func each(read func(*File, ast.Node) (*Item, *Error)) func(*File, *Section, ast.Node) {
	return func(f *File, s *Section, n ast.Node) {
		items, ok := itemsOf(n)
		if !ok {
			s.Errs = []*Error{inFile(lineOf(n), syscall.EINVAL, "Malformed input. Expect a list found '%s'", firstText(n))}
			return
		}
		for _, item := range items {
			one, err := read(f, item)
			if err != nil {
				s.Errs = []*Error{err}
				return
			}
			if one != nil {
				one.Line = lineOf(item)
				s.Items = append(s.Items, *one)
			}
		}
	}
}

// decode reads a value into one of the types of the tree. A value that does not fit the type is
// an error.
func decode(n ast.Node, to any) *Error {
	err := json.Unmarshal(appendJSON(nil, n), to)
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && expected[bad.Type.Kind()] != "" {
		return inFile(lineOf(n), syscall.EINVAL, "Malformed input. Expect %s for '%s' found %s", expected[bad.Type.Kind()], bad.Field, bad.Value)
	}
	if err != nil {
		return inFile(lineOf(n), syscall.EINVAL, "Malformed input. %v", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// expected names what a value of a kind of field must be, in words for administrators.
var expected = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.String: "a text", reflect.Slice: "a list", reflect.Struct: "keys with values",
	reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Uint32: "a whole number", reflect.Uint64: "a whole number",
}

// route reads a route.
func (f *File) route(n ast.Node) (*Item, *Error) {
	line := lineOf(n)
	for _, key := range []string{"net", "gateway"} {
		if valueOf(n, key) == nil {
			return nil, inFile(line, syscall.ENODEV, "missing mandatory parameter: %s", key)
		}
	}
	for _, key := range []string{"hop", "priority", "health_sensitivity"} {
		if v := valueOf(n, key); v != nil {
			if _, ok := integer(v); !ok {
				return nil, inFile(lineOf(v), syscall.EINVAL, "%s has invalid key", key)
			}
		}
	}
	if text := textOf(valueOf(n, "gateway")); !isNID(text) {
		return nil, inFile(line, syscall.EINVAL, "cannot parse gateway NID '%s'", text)
	}
	r := new(Route)
	err := decode(n, r)
	r.Net = netName(r.Net)
	return &Item{Route: r}, err
}

// peer reads a peer. One without a primary NID is ignored, as by Lustre's tool.
func (f *File) peer(n ast.Node) (*Item, *Error) {
	line, primary := lineOf(n), valueOf(n, "primary nid")
	if _, ok := entriesOf(n); !ok {
		return nil, inFile(line, syscall.EINVAL, "Malformed input. Expect 'primary nid' found '%s'", firstText(n))
	}
	if primary == nil {
		f.warn(line, "a peer without 'primary nid' is ignored")
		return nil, nil
	}
	if !isNID(textOf(primary)) {
		return nil, inFile(line, syscall.EINVAL, "unsupported primary NID")
	}
	if list := valueOf(n, "peer ni"); list != nil {
		items, _ := itemsOf(list)
		for _, ni := range items {
			if !isNID(textOf(valueOf(ni, "nid"))) {
				return nil, inFile(lineOf(ni), syscall.EINVAL, "unsupported secondary NID")
			}
		}
	}
	p := &Peer{MultiRail: true}
	return &Item{Peer: p}, decode(n, p)
}

// udsp reads a selection rule.
func (f *File) udsp(n ast.Node) (*Item, *Error) {
	u := new(UDSP)
	return &Item{UDSP: u}, decode(n, u)
}

// target reads a node to ping or discover.
func (f *File) target(n ast.Node) (*Item, *Error) {
	text := textOf(valueOf(n, "primary nid"))
	id, err := nid.Parse(text)
	if err != nil {
		return nil, inFile(lineOf(n), syscall.EINVAL, "unsupported primary NID")
	}
	return &Item{Target: id}, nil
}

// routing reads whether the node is a router.
func (f *File) routing(s *Section, n ast.Node) {
	r := new(Routing)
	if err := decode(n, r); err != nil {
		s.Errs = []*Error{err}
		return
	}
	if r.Buffers != nil { // this item comes before the one that starts the router, because the router uses these numbers
		s.Items = append(s.Items, Item{Line: lineOf(n), Buffers: r.Buffers})
		r.Buffers = nil
	}
	if r.Enable != nil || r.Pools != nil {
		s.Items = append(s.Items, Item{Line: lineOf(n), Routing: r})
	}
}

// buffers reads the numbers of router buffers.
func (f *File) buffers(s *Section, n ast.Node) {
	b := new(Buffers)
	if err := decode(n, b); err != nil {
		s.Errs = []*Error{err}
		return
	}
	if *b != (Buffers{}) {
		s.Items = []Item{{Line: lineOf(n), Buffers: b}}
	}
}

// global reads settings, and stops at the first that is wrong.
func (f *File) global(s *Section, n ast.Node) {
	entries, ok := entriesOf(n)
	if !ok {
		s.Errs = []*Error{inFile(lineOf(n), syscall.EINVAL, "invalid key '%s'", firstText(n))}
		return
	}
	for _, e := range entries {
		set, line := Setting{Name: newName(keyOf(e))}, lineOf(e.Key)
		if !new(Global).Set(set) {
			s.Errs = []*Error{inFile(line, syscall.EINVAL, "invalid key '%s'", set.Name)}
			return
		}
		if set.Value, ok = integer(e.Value); !ok {
			s.Errs = []*Error{inFile(line, syscall.EINVAL, "invalid value '%s' for key '%s'", firstText(e.Value), set.Name)}
			return
		}
		s.Items = append(s.Items, Item{Line: line, Setting: &set})
	}
}

func isNID(text string) bool {
	_, err := nid.Parse(text)
	return err == nil
}
