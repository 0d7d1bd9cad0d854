package node

import (
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// NISettings are the settings of single NIs. A nil setting is taken from the configuration.
type NISettings struct {
	PeerTimeout       *int           `json:"peer_timeout,omitempty"`        // in seconds; for this and the three credits below, 0 means the value of the configuration
	PeerCredits       *int           `json:"peer_credits,omitempty"`        // number of messages that may be in flight to a peer
	PeerBufferCredits *int           `json:"peer_buffer_credits,omitempty"` // number of messages of a peer that the node may be forwarding
	Credits           *int           `json:"credits,omitempty"`             // number of messages that the NI may have in flight
	LND               map[string]int `json:"lnd_tunables,omitempty"`        // tunables of the driver, named as 'lnetctl net show -v' does
	CPT               string         `json:"cpt,omitempty"`                 // CPU partitions, as [0,1]; kept and shown, without effect
}

// maxTunable is larger than any value that makes sense, as in package config.
const maxTunable = 1 << 20

// override applies an NI's own settings to its configuration. EINVAL: a value is out of range,
// or the driver has no such tunable.
func (n *Node) override(d drivers.Driver, cfg *lnd.Config, own NISettings) error {
	if err := own.apply(&cfg.Tunables); err != nil {
		return err
	}
	if err := checkCPT(own.CPT); err != nil {
		return err
	}
	values, ignored, err := drivers.Own(d, own.LND)
	if err == nil && len(values) > 0 {
		cfg.LND = values
	}
	if len(ignored) > 0 {
		n.cfg.Log.Warn("tunables of an interface that mean something to kernels only", slog.Any("tunables", ignored))
	}
	return err
}

// apply sets those tunables that all drivers have.
func (own *NISettings) apply(t *lnd.Tunables) error {
	seconds := 0
	for _, f := range []struct {
		name string
		from *int
		to   *int
		most int
	}{
		{"peer_timeout", own.PeerTimeout, &seconds, maxSetting},
		{"peer_credits", own.PeerCredits, &t.PeerCredits, maxTunable},
		{"peer_buffer_credits", own.PeerBufferCredits, &t.PeerBufferCredits, maxTunable},
		{"credits", own.Credits, &t.Credits, maxTunable},
	} {
		if f.from == nil || *f.from == 0 {
			continue
		}
		if *f.from < 0 || *f.from > f.most {
			return cli.Errnof(syscall.EINVAL, "%s is %d: want 0 to %d", f.name, *f.from, f.most)
		}
		*f.to = *f.from
	}
	if seconds > 0 {
		t.PeerTimeout = time.Duration(seconds) * time.Second
	}
	return nil
}

var cptForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[?[0-9]+([,-][0-9]+)*\]?$`) })

// checkCPT refuses a text that is no list of CPU partitions.
func checkCPT(s string) error {
	if s == "" || len(s) <= math.MaxUint8 && cptForm().MatchString(s) {
		return nil
	}
	return fmt.Errorf("CPT %.40q: want numbers, as [0,1]: %w", s, syscall.EINVAL)
}

// An origin is what an NI was started with, and what neither the NI nor its driver knows.
type origin struct {
	on  string // name of the interface, or its address, as the configuration or a command has it; "": the driver chose one
	cpt string // CPU partitions that were set for the NI; without effect
}

// origins are the origins of the NIs that run.
type origins struct {
	mu sync.Mutex
	by map[nid.NID]origin // guarded by mu
}

func (o *origins) keep(id nid.NID, of origin) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = make(map[nid.NID]origin)
	}
	o.by[id] = of
}

func (o *origins) forget(id nid.NID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.by, id)
}

func (o *origins) of(id nid.NID) origin {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.by[id]
}
