package gossip

import (
	"ulnet/cmd/internal/node"
	"ulnet/portals/keyring"
)

// Keys returns the keys of the section gossip of the configuration.
func (m *Module) Keys() *node.Keys {
	file := m.Config.Gossip.KeyFile
	if file == "" {
		return nil
	}
	return &node.Keys{Section: "gossip", File: file, Set: m.setKeys, Count: m.countKeys}
}

// setKeys changes the keys of the running agent, and of agents that will be started later.
func (m *Module) setKeys(keys keyring.Keys) error {
	m.commands.Lock()
	defer m.commands.Unlock()
	m.keys = keys
	m.mu.Lock()
	agent := m.agent
	if m.setup != nil {
		setup := *m.setup // a copy, since other goroutines may be reading the old one
		setup.cfg.Keys = keys
		m.setup = &setup
	}
	m.mu.Unlock()
	if agent != nil {
		agent.SetKeys(keys)
	}
	return nil
}

func (m *Module) countKeys(k *node.KeysStatus) {
	if agent, err := m.running(); err == nil {
		s := agent.Status()
		k.Keys, k.Verified, k.Refused = s.Keys, s.Verified, s.Stats.NotSigned
		return
	}
	m.commands.Lock()
	defer m.commands.Unlock()
	k.Keys = m.keys.Len()
}
