package node

import (
	"fmt"
	"log/slog"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/health"
	"ulnet/portals/keyring"
)

// KeysStatus is what a section of the configuration does with its keys.
type KeysStatus struct {
	Section  string    `json:"section"`
	File     string    `json:"file"`
	Keys     int       `json:"keys"`
	Verified [2]uint64 `json:"verified"` // messages by each key since it was read
	Refused  uint64    `json:"refused"`  // messages without a code by one of them
}

// keyUser is a section with key_file.
type keyUser struct {
	section, file string
	set           func(keyring.Keys) error
	count         func(*KeysStatus)
}

// keyUsers lists the sections that have keys and use them now.
func (n *Node) keyUsers() (list []keyUser) {
	if file := n.cfg.Gossip.KeyFile; file != "" {
		list = append(list, keyUser{"gossip", file, always(n.gossip.setKeys), n.gossip.countKeys})
	}
	if n.zone != nil && n.cfg.Zone.KeyFile != "" {
		list = append(list, keyUser{"zone", n.cfg.Zone.KeyFile, always(n.zone.agent.SetKeys), n.zone.countKeys})
	}
	if n.scoll != nil && n.cfg.Scoll.KeyFile != "" {
		list = append(list, keyUser{"scoll", n.cfg.Scoll.KeyFile, n.scoll.agent.SetKeys, n.scoll.countKeys})
	}
	if n.mcast != nil && n.cfg.Rmcast.KeyFile != "" {
		list = append(list, keyUser{"rmcast", n.cfg.Rmcast.KeyFile, n.mcast.agent.SetKeys, n.mcast.countKeys})
	}
	if n.health != nil && n.cfg.Health.KeyFile != "" {
		list = append(list, keyUser{"health", n.cfg.Health.KeyFile, n.health.setKeys, n.health.countKeys})
	}
	return list
}

// always makes set what does not fail.
func always(set func(keyring.Keys)) func(keyring.Keys) error {
	return func(keys keyring.Keys) error {
		set(keys)
		return nil
	}
}

func (g *gossiper) countKeys(k *KeysStatus) {
	if agent, err := g.running(); err == nil {
		s := agent.Status()
		k.Keys, k.Verified, k.Refused = s.Keys, s.Verified, s.Stats.NotSigned
		return
	}
	g.commands.Lock()
	defer g.commands.Unlock()
	k.Keys = g.keys.Len()
}

func (z *zoner) countKeys(k *KeysStatus) {
	s := z.agent.Status()
	k.Keys, k.Verified, k.Refused = s.Keys, s.Verified, s.Stats.NotSigned
}

func (c *collective) countKeys(k *KeysStatus) {
	s := c.agent.KeyStats()
	k.Keys, k.Verified, k.Refused = s.Keys, s.Verified, s.NotSigned
}

func (m *multicaster) countKeys(k *KeysStatus) {
	s := m.agent.KeyStats()
	k.Keys, k.Verified, k.Refused = s.Keys, s.Verified, s.NotSigned
}

// setKeys changes the keys of connects: of the roles that run, and of those that start later.
func (h *healthRoles) setKeys(keys keyring.Keys) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys = keys
	if h.server != nil {
		if err := h.server.SetKeys(keys); err != nil {
			return err
		}
	}
	if h.client != nil {
		return h.client.SetKeys(keys)
	}
	return nil
}

// countKeys says what a server has verified; clients only sign.
func (h *healthRoles) countKeys(k *KeysStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.Keys = h.keys.Len(); h.server != nil {
		s := h.server.Status()
		k.Verified, k.Refused = s.Verified, h.server.Stats().Rejected[health.OtherKey]
	}
}

// Keys tells which sections have keys, and what these have verified.
func (n *Node) Keys() (list []KeysStatus) {
	list = []KeysStatus{}
	for _, u := range n.keyUsers() {
		k := KeysStatus{Section: u.section, File: u.file}
		u.count(&k)
		list = append(list, k)
	}
	return list
}

// KeysReload reads the files of keys again; from then on what they have is in force. If
// one of them can not be read nothing changes. EINVAL: what it has is no key. ESRCH: no
// section has keys.
func (n *Node) KeysReload() error {
	users := n.keyUsers()
	if len(users) == 0 {
		return cli.Hint(&keysError{syscall.ESRCH, fmt.Errorf("no section of the configuration has keys")},
			"set key_file there, and start lnetd again")
	}
	var all []keyring.Keys
	for _, u := range users {
		keys, err := config.ReadKeys(u.file)
		if err != nil {
			return cli.Hint(&keysError{syscall.EINVAL, fmt.Errorf("key_file of the section %s: %w", u.section, err)}, "the keys of before stay in force")
		}
		all = append(all, keys)
	}
	for i, u := range users {
		if err := u.set(all[i]); err != nil {
			return &keysError{syscall.EINVAL, fmt.Errorf("key_file of the section %s: %w", u.section, err)}
		}
		n.cfg.Log.Info("keys were read again", slog.String("section", u.section), slog.Int("keys", all[i].Len()))
	}
	return nil
}

// keysError is what is wrong with keys, as an errno too.
type keysError struct {
	errno syscall.Errno
	err   error
}

func (e *keysError) Error() string   { return e.err.Error() }
func (e *keysError) Unwrap() []error { return []error{e.errno, e.err} }
