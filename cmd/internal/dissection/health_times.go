package dissection

import (
	"cmp"
	"fmt"
	"time"

	healthwire "ulnet/health/wire"
)

// The functions in this file show timeouts in messages. The messages connect and choose carry
// those of the client. The messages accept and chosen carry T_evict of the server in the field
// Retry, in which other messages have the time to wait before the next attempt. A refusal with
// the code other-times has T_evict in the field Epoch. Senders of older versions leave these
// fields 0.

// clientTimes returns T_ping and T_client + T_elect of the client, or zeros if this message does
// not carry them.
func (m *healthMessage) clientTimes() (ping, found time.Duration) {
	if m.Kind != healthwire.Connect && m.Kind != healthwire.Choose || m.Retry == 0 {
		return 0, 0
	}
	return m.Retry, time.Duration(min(m.ServerIncarnation, 1<<32-1)) * time.Millisecond
}

// evict returns T_evict of the server, or 0 if this message does not carry it.
func (m *healthMessage) evict() time.Duration {
	switch {
	case m.Code == healthwire.OtherTimes && (m.Kind == healthwire.Reject || m.Kind == healthwire.Chosen):
		return time.Duration(m.Epoch) * time.Millisecond
	case m.Kind == healthwire.Accept, m.Kind == healthwire.Chosen && m.Code == healthwire.OK:
		return m.Retry
	}
	return 0
}

// times describes the timeouts in a message, or returns "" if the message carries none.
func (m *healthMessage) times() string {
	ping, found := m.clientTimes()
	switch evict := m.evict(); {
	case ping > 0:
		return fmt.Sprintf("pings every %v, finds another master within %v", ping, found)
	case evict > 0:
		return fmt.Sprintf("evicts after %v", evict)
	case m.Retry > 0:
		return fmt.Sprintf("come back after %v", m.Retry)
	}
	return ""
}

// header returns the fields before the client, in the order of the message.
func (m *healthMessage) header() string {
	s := fmt.Sprintf("%v, version %d, code %d (%v), sequence %d", m.Kind, healthwire.Version, uint16(m.Code), m.Code, m.Sequence)
	ping, found := m.clientTimes()
	evict := m.evict()
	switch {
	case ping > 0:
		return s + fmt.Sprintf(", epoch %d, T_ping %v, T_client + T_elect %v", m.Epoch, ping, found)
	case m.Code == healthwire.OtherTimes:
		return s + fmt.Sprintf(", server's incarnation %d, T_evict %v, retry after %v", m.ServerIncarnation, evict, m.Retry)
	case evict > 0:
		return s + fmt.Sprintf(", server's incarnation %d, epoch %d, T_evict %v", m.ServerIncarnation, m.Epoch, evict)
	}
	return s + fmt.Sprintf(", server's incarnation %d, epoch %d, retry after %v", m.ServerIncarnation, m.Epoch, m.Retry)
}

// putTimes puts the server's incarnation, the sequence number, the epoch, the time to wait before the
// next attempt, and the timeouts into o. If a field of the message carries a timeout, the value that the
// field has in other messages is 0 in o, or absent.
func (m *healthMessage) putTimes(o *object) {
	ping, found := m.clientTimes()
	evict, epoch, incarnation := m.evict(), m.Epoch, m.ServerIncarnation
	if m.Code == healthwire.OtherTimes {
		epoch = 0
	}
	if ping > 0 {
		incarnation = 0
	}
	o.put("server_life", decimal(incarnation))
	o.put("sequence", decimal(m.Sequence))
	o.put("epoch", epoch)
	if cmp.Or(ping, evict) == 0 || m.Code == healthwire.OtherTimes {
		o.some("retry_ms", m.Retry.Milliseconds())
	}
	o.some("ping_ms", ping.Milliseconds())   // T_ping of the client
	o.some("found_ms", found.Milliseconds()) // T_client + T_elect of the client
	o.some("evict_ms", evict.Milliseconds()) // T_evict of the server
}
