package health

import (
	"ulnet/cmd/internal/node"
	"ulnet/health"
	"ulnet/portals/keyring"
)

// Keys are those of the configuration's section.
func (m *Module) Keys() *node.Keys {
	if m.roles == nil || m.roles.cfg.KeyFile == "" {
		return nil
	}
	return &node.Keys{Section: "health", File: m.roles.cfg.KeyFile, Set: m.roles.setKeys, Count: m.roles.countKeys}
}

// setKeys changes the keys of connects: of the roles that run, and of those that start later.
func (h *roles) setKeys(keys keyring.Keys) error {
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
func (h *roles) countKeys(k *node.KeysStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.Keys = h.keys.Len(); h.server != nil {
		s := h.server.Status()
		k.Verified, k.Refused = s.Verified, h.server.Stats().Rejected[health.OtherKey]
	}
}
