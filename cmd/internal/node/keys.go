package node

import (
	"fmt"
	"log/slog"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/portals/keyring"
)

// The operations on keys.
var (
	OpKeys       = control.Question[control.None, []KeysStatus]{Path: "/v1/keys", Doc: "which sections have keys, and what these have verified"}
	OpKeysReload = control.Action[control.None]{Path: "/v1/keys/reload", Doc: "reads the files of keys again"}
)

// KeysStatus are the keys of a section of the configuration, and how often they were used.
type KeysStatus struct {
	Section  string    `json:"section"`  // name of the section
	File     string    `json:"file"`     // path of the section's key_file
	Keys     int       `json:"keys"`     // number of keys: 1, or 2 while keys change
	Verified [2]uint64 `json:"verified"` // number of messages that each key has verified since the key was read
	Refused  uint64    `json:"refused"`  // number of messages that no key has verified
}

// Keys is a section with key_file.
type Keys struct {
	Section string                   // name of the section
	File    string                   // path of the section's key_file
	Set     func(keyring.Keys) error // replaces the keys that are in use
	Count   func(*KeysStatus)        // sets all fields except Section and File
}

// keySections are the sections that the method keys lists first, in reverse order: gossip comes first, health
// last. All other sections follow.
var keySections = []string{"health", "rmcast", "scoll", "zone", "gossip"}

// keys lists the sections that have keys and use them now.
func (n *Node) keys() (list []*Keys) {
	for _, m := range n.modules {
		if k := m.Keys(); k != nil {
			list = append(list, k)
		}
	}
	slices.SortStableFunc(list, func(a, b *Keys) int {
		return slices.Index(keySections, b.Section) - slices.Index(keySections, a.Section)
	})
	return list
}

// Keys returns which sections have keys, and how many messages were verified with these.
func (n *Node) Keys() (list []KeysStatus) {
	list = []KeysStatus{}
	for _, u := range n.keys() {
		k := KeysStatus{Section: u.Section, File: u.File}
		u.Count(&k)
		list = append(list, k)
	}
	return list
}

// KeysReload reads the key files again and uses the new keys from then on. If one of the
// files cannot be read, or another program is writing it, nothing changes. EINVAL: a file has no
// valid key, or does not end with a newline, as a file that is being written. ESRCH: no section
// has keys. KeysReload first waits for the end of a running reload.
func (n *Node) KeysReload() error {
	n.reloading.Lock()
	defer n.reloading.Unlock()
	users := n.keys()
	if len(users) == 0 {
		return cli.Hint(cli.Errno(syscall.ESRCH, fmt.Errorf("no section of the configuration has keys")),
			"set key_file there, and start lnetd again")
	}
	var all []keyring.Keys
	for _, u := range users {
		keys, err := config.ReadWholeKeys(u.File)
		if err != nil {
			return cli.Hint(cli.Errno(syscall.EINVAL, fmt.Errorf("key_file of the section %s: %w", u.Section, err)), "the keys of before stay in force")
		}
		all = append(all, keys)
	}
	for i, u := range users {
		if err := n.setKeys(u, all[i]); err != nil {
			return cli.Errno(syscall.EINVAL, fmt.Errorf("key_file of the section %s: %w", u.Section, err))
		}
		n.cfg.Log.Info("keys were read again", slog.String("section", u.Section), slog.Int("keys", all[i].Len()))
	}
	return nil
}

// setKeys replaces the keys of a section. The caller holds the mutex reloading.
func (n *Node) setKeys(u *Keys, keys keyring.Keys) error {
	err := u.Set(keys)
	if err == nil {
		n.inForce[u.Section] = keys
	}
	return err
}

// keysOf returns the keys of a configuration by section.
func keysOf(c *config.Config) map[string]keyring.Keys {
	return map[string]keyring.Keys{"gossip": c.Gossip.Keys, "scoll": c.Scoll.Keys, "rmcast": c.Rmcast.Keys, "zone": c.Zone.Keys, "health": c.Health.Keys}
}
