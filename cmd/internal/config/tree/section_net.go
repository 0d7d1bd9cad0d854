package tree

import (
	"strings"
	"syscall"

	"github.com/goccy/go-yaml/ast"

	"ulnet/lnet/nid"
)

// nets reads the section of networks, and appends an item to s.Items for each NI. It ends at the
// first network with an error.
func (f *File) nets(s *Section, n ast.Node) {
	items, ok := itemsOf(n)
	if !ok {
		s.Errs = []*Error{expectType(n)}
		return
	}
	for _, item := range items {
		if s.Errs = f.net(s, item); len(s.Errs) > 0 {
			return
		}
	}
}

// expectType returns the error for a value that is not the type of a network.
func expectType(n ast.Node) *Error {
	return inFile(lineOf(n), syscall.EINVAL, "Malformed input. Expect 'net type' found '%s'", firstText(n))
}

// net reads a network: an item for each NI, or one item if there are no NIs.
func (f *File) net(s *Section, n ast.Node) []*Error {
	name := valueOf(n, "net type")
	if name == nil {
		return []*Error{expectType(n)}
	}
	list, net := valueOf(n, "local NI(s)"), netName(textOf(name))
	if list == nil {
		s.Items = append(s.Items, Item{Line: lineOf(n), Net: &Net{Type: net}})
		return nil
	}
	nis, ok := itemsOf(list)
	if !ok {
		return []*Error{inFile(lineOf(list), syscall.EINVAL, "Malformed input. Expect a list found '%s'", firstText(list))}
	}
	for _, ni := range nis {
		one, errs := readNI(ni)
		if len(errs) > 0 {
			return errs
		}
		f.olderTunables(&one, net, ni)
		s.Items = append(s.Items, Item{Line: lineOf(ni), Net: &Net{Type: net, NIs: []NI{one}}})
	}
	return nil
}

// netName returns the usual name of a network: tcp for tcp0. A text that is not the name of a network stays as it is.
func netName(text string) string {
	if net, err := nid.ParseNet(text); err == nil {
		return net.String()
	}
	return text
}

// tunablesOf returns the keys and values below the keys that decode takes for key, in upper or lower case.
func tunablesOf(n ast.Node, key string) (all []*ast.MappingValueNode) {
	entries, _ := entriesOf(n)
	for _, e := range entries {
		if strings.EqualFold(keyOf(e), key) {
			below, _ := entriesOf(e.Value)
			all = append(all, below...)
		}
	}
	return all
}

// readNI reads an NI.
func readNI(n ast.Node) (ni NI, errs []*Error) {
	for _, key := range []string{"tunables", "lnd tunables"} {
		for _, e := range tunablesOf(n, key) {
			if _, ok := integer(e.Value); !ok && !isNothing(e.Value) {
				return ni, []*Error{
					inFile(lineOf(e.Key), syscall.EINVAL, "invalid value '%s' for key '%s'", firstText(e.Value), keyOf(e)),
					inFile(lineOf(e.Key), syscall.EINVAL, "Failed to parse %s rc = -22", key),
				}
			}
		}
	}
	if id := valueOf(n, "nid"); id != nil && !isNID(textOf(id)) {
		return ni, []*Error{inFile(lineOf(id), syscall.EINVAL, "invalid value '%s' for key 'nid'", textOf(id))}
	}
	if err := decode(n, &ni); err != nil {
		return ni, []*Error{err}
	}
	return ni, nil
}
