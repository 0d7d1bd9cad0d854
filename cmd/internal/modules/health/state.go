package health

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"ulnet/cmd/internal/statefiles"
	"ulnet/health"
)

// Status returns the state of client health. The error is ESRCH if no role is configured.
func (m *Module) Status() (Status, error) {
	h := m.roles
	if h == nil {
		return Status{}, noHealth("server or client", "server: 1 or client")
	}
	server, client := h.roles()
	s := Status{Timing: h.timing()}
	if h.cfg.Server {
		s.Server = h.serverStatus(server)
	}
	if h.cfg.Client {
		s.Client = h.clientStatus(client)
	}
	return s, nil
}

// timing returns the times in force.
func (h *roles) timing() (t Timing) {
	filled, _ := h.cfg.Times.Filled() // cannot fail: the configuration was checked
	for field, ms := range reflect.ValueOf(&t).Elem().Fields() {
		d := reflect.ValueOf(filled).FieldByName(strings.TrimSuffix(field.Name, "MS")).Interface().(time.Duration)
		if ms.SetInt(d.Milliseconds()); d < 0 {
			ms.SetInt(-1)
		}
	}
	return t
}

func (h *roles) serverStatus(agent *health.ServerAgent) *ServerRole {
	s := &ServerRole{
		State: Waiting, Gossip: h.view.running(), Unsure: h.view.Unsure(), MaxClients: h.cfg.MaxClients,
		Store: h.storeStatus(), Stats: map[string]uint64{},
	}
	s.Alive, s.Known = h.view.Counts()
	if agent == nil {
		s.NoQuorum = h.sight().noQuorum()
		return s
	}
	s.State, s.ServerStatus, s.Stats = Running, agent.Status(), counters(agent.Stats())
	if !s.Quorum {
		s.NoQuorum = h.sight().noQuorum()
	}
	h.mu.Lock()
	all := h.all
	h.mu.Unlock()
	for name, count := range statefiles.Counters(all.Stats()) { // any order: the result is a map
		s.Stats["collective_"+name] = count
	}
	return s
}

func (h *roles) clientStatus(c *health.Connection) *ClientRole {
	s := &ClientRole{Name: h.cfg.Name, Stats: map[string]uint64{}}
	h.mu.Lock()
	s.Servers = h.servers
	h.mu.Unlock()
	if c == nil {
		s.State = string(Waiting)
		return s
	}
	s.ClientStatus, s.Stats, s.PingLatency = c.Status(), counters(c.Stats()), c.PingLatency()
	return s
}

// counters returns the fields of a struct of counters by names such as "not_saved", or by their json
// tag. Elements of arrays, by code or cause, have names such as "rejected_no_quorum" and are left
// out if they are 0. Durations are in ms.
func counters(of any) map[string]uint64 {
	m := map[string]uint64{}
	for field, value := range reflect.ValueOf(of).Fields() {
		name := cmp.Or(field.Tag.Get("json"), statefiles.Underscored(field.Name))
		switch value.Kind() {
		case reflect.Array:
			for i := range value.Len() {
				if count := value.Index(i).Uint(); count > 0 {
					m[name+"_"+strings.ReplaceAll(reasonOf(field.Name, i), "-", "_")] = count
				}
			}
		case reflect.Int64:
			m[name+"_ms"] = uint64(time.Duration(value.Int()).Milliseconds())
		default:
			m[name] = value.Uint()
		}
	}
	return m
}

// reasonOf returns the name for an index of an array of counters: that of a cause in the array
// Ended, otherwise that of a code.
func reasonOf(field string, i int) string {
	if field == "Ended" {
		return health.Cause(i).String()
	}
	return health.Code(i).String()
}
