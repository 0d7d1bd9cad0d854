package tree

import (
	"reflect"
	"strconv"
	"syscall"

	"github.com/goccy/go-yaml/ast"

	"ulnet/cmd/internal/drivers"
	"ulnet/lnet/nid"
)

// Files of older versions of Lustre's lnetctl have some things in other places.

// tunableFields has the keys of the tunables that all drivers have.
var tunableFields = fieldsOf(reflect.TypeFor[Tunables]())

// olderTunables adds the tunables of the network's driver that stand below "tunables", where lnetctl of Lustre 2.12
// exports those of o2iblnd. A tunable that stands below "lnd tunables" as well has the value that it has there. A key
// that is neither a tunable of all drivers nor one of this driver is noted as unknown.
func (f *File) olderTunables(ni *NI, net string, n ast.Node) {
	entries, _ := entriesOf(valueOf(n, "tunables"))
	for _, e := range entries {
		name := keyOf(e)
		_, known := tunableFields[name]
		if of, err := nid.ParseNet(net); err != nil || known || isNothing(e.Value) {
			continue
		} else if !drivers.Shows(of.Type(), name) {
			f.unknown.note(e)
		} else if value, ok := integer(e.Value); ok && !ni.LND.has(name) {
			ni.LND = append(ni.LND, LNDTunable{name, strconv.FormatInt(value, 10)})
		}
	}
}

// newName returns the present name of a setting that had another name until Lustre 2.12.
func newName(key string) string {
	if key == "max_intf" {
		return "max_interfaces"
	}
	return key
}

// numa reads the range of NUMA nodes, which is the setting numa_range of newer versions.
func (f *File) numa(s *Section, n ast.Node) {
	v := valueOf(n, "range")
	if v == nil {
		s.Errs = []*Error{inFile(lineOf(n), syscall.EINVAL, "missing mandatory parameter: range")}
		return
	}
	value, ok := integer(v)
	if !ok {
		s.Errs = []*Error{inFile(lineOf(v), syscall.EINVAL, "invalid value '%s' for key 'range'", firstText(v))}
		return
	}
	s.Items = []Item{{Line: lineOf(v), Setting: &Setting{"numa_range", value}}}
}
