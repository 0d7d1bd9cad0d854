package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ulnet/cmd/internal/config/tree"
)

// A KeyChange is a key whose value differs between two configurations.
type KeyChange struct {
	Key      string // key, as in Value
	Old, New string // texts of the two values, on one line
	From     string // position of the new value or, if that is a default, of the old one
}

// String returns the change with its position, such as "lnetd.yaml:3: accept_port: 988 -> 1988". It
// leaves out arguments of programs, because more users can read the log than the file.
func (c KeyChange) String() string {
	text := fmt.Sprintf("%s: %s -> %s", c.Key, Shown(WithoutArguments(c.Key, c.Old)), Shown(WithoutArguments(c.Key, c.New)))
	if c.From != "" {
		text = c.From + ": " + text
	}
	return text
}

// Changes lists the keys whose values differ between two configurations, in alphabetical order.
func Changes(from, to *Loaded) (list []KeyChange) {
	was, will := from.byKey(), to.byKey()
	keys := maps.Clone(was)
	maps.Copy(keys, will)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if o, n := was[key], will[key]; !sameValue(key, o.Value, n.Value) && !hasKeysBelow(keys, key) {
			position := n.From
			if n.Origin == "" || n.Origin == FromDefault {
				position = o.From
			}
			list = append(list, KeyChange{Key: key, Old: o.Value, New: n.Value, From: position})
		}
	}
	for _, f := range []struct {
		key, what string
		same      bool
	}{
		{"gossip.nids_file", " with other NIDs", slices.Equal(from.Gossip.NIDs, to.Gossip.NIDs)},
		{"health.claim_keys", " with other keys", from.Health.ClaimKeys.Equal(to.Health.ClaimKeys)},
	} {
		if n := will[f.key]; !f.same && was[f.key].Value == n.Value && n.Value != "" {
			list = append(list, KeyChange{Key: f.key, Old: n.Value, New: n.Value + f.what, From: n.From})
		}
	}
	return list
}

func (l *Loaded) byKey() map[string]Value {
	m := map[string]Value{}
	for _, v := range l.Values() {
		m[v.Key] = v
	}
	return m
}

// hasKeysBelow reports whether keys has keys of a section. Changes then lists the changes of these keys
// instead of a change of the section.
func hasKeysBelow(keys map[string]Value, section string) bool {
	for key := range keys {
		if strings.HasPrefix(key, section+".") {
			return true
		}
	}
	return false
}

// AtRunTime reports whether a reload applies a change of a key to the running daemon. That is the same
// for all keys of a section.
func AtRunTime(key string) bool {
	first, _, _ := strings.Cut(key, ".")
	return atRunTime()[first]
}

// atRunTime returns the keys at the top level of the file whose changes a reload applies.
var atRunTime = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, key := range []string{
		"networks", "ip2nets", "net", "peer", "route", "routes", "udsp",
		"routing", "forwarding", "buffers", "global",
		"faults", "handlers", "selftest_allow", "metrics_hosts", "log_level", "log_format",
		"modprobe", "lnet_conf", // another path alone is no reason to restart: the keys that the files set are compared, too
		"eager_ack", "nonblk_zcack", "zc_min_payload", "nscheds", "nconnds", "nconnds_max", // these keys have no effect
	} {
		all[key] = true
	}
	for _, s := range tree.NodeSettings() {
		all[s.Key] = true
	}
	return all
})
