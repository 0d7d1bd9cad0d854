package scoll

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// digestOf returns a digest of the settings that should be the same on all servers: all but the
// names and paths of a single node. Settings with their default values are left out, so that
// versions with more settings, or with another order of them, compute the same digest.
func digestOf(c config.Config) [32]byte {
	c.Networks, c.Socket, c.StateDir, c.RuntimeDir, c.Capture, c.FaultSeed = "", "", "", "", "", 0
	c.Handlers, c.Sections.Net, c.Sections.Peer = nil, nil, nil
	c.CaptureSize, c.CaptureTime, c.CaptureFiles = 0, 0, 0
	c.Gossip.NIDsAt, c.Gossip.NIDsFile, c.Gossip.Seed = config.Position{}, "", 0
	c.Gossip.KeyFile, c.Gossip.Keys = "", keyring.Keys{}
	c.Scoll.NID, c.Scoll.KeyFile, c.Scoll.Keys = nid.NID{}, "", keyring.Keys{}
	c.Health.NID, c.Health.At = nid.NID{}, config.Position{}
	c.Health.Name, c.Health.Attach, c.Health.AttachAll = "", nil, false
	c.Health.KeyFile, c.Health.Keys = "", keyring.Keys{}
	c.Health.ClaimFile, c.Health.ClaimKeys = "", keyring.Keys{} // left out, because short keys could be guessed from the digest
	c.Rmcast.NID, c.Rmcast.KeyFile, c.Rmcast.Keys = nid.NID{}, "", keyring.Keys{}
	z := &c.Zone
	z.Name, z.At, z.Node, z.NIDs, z.Bootstrap = "", config.Position{}, "", nil, nil
	z.Supervisor, z.Management, z.Monitor, z.KeyFile, z.Keys = false, nil, false, "", keyring.Keys{}
	return sha256.Sum256([]byte(strings.Join(unlike(reflect.ValueOf(c), reflect.ValueOf(config.Default())), "")))
}

// unlike returns a line for each value of c that differs from that of other, sorted by name.
func unlike(c, other reflect.Value) []string {
	known := named(nil, "", other)
	lines := slices.DeleteFunc(named(nil, "", c), func(line string) bool { return slices.Contains(known, line) })
	slices.Sort(lines)
	return lines
}

// named appends a line for each value. The line has a name and the value as text. The name
// consists of the names of the structs that contain the value, its indexes in lists, and its
// own name. Fields of an embedded struct count as the outer struct's own.
func named(lines []string, name string, v reflect.Value) []string {
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			lines = named(lines, fmt.Sprintf("%s[%d]", name, i), v.Index(i))
		}
		return append(lines, fmt.Sprintf("%s has %d\n", name, v.Len()))
	case v.Kind() != reflect.Struct || opaque(v.Type()):
		return append(lines, fmt.Sprintf("%s %q\n", name, fmt.Sprint(v)))
	}
	for field, value := range v.Fields() {
		if field.Anonymous {
			lines = named(lines, name, value)
		} else {
			lines = named(lines, name+"."+field.Name, value)
		}
	}
	return lines
}

// opaque reports whether a struct, such as a NID, counts as a single value.
func opaque(t reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return !f.IsExported() })
}
