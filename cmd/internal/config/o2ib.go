package config

import (
	"fmt"
	"maps"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"ulnet/cmd/internal/drivers"
)

// o2ibSettings returns the keys of the section o2ib.
func o2ibSettings(o *drivers.O2IB) map[string]setting {
	all := map[string]setting{
		"provider":            text(&o.Provider, checkProvider),
		"peer_timeout":        duration(&o.PeerTimeout, time.Second, 0, maxSeconds),
		"peer_credits":        peerCredits(&o.PeerCredits),
		"peer_buffer_credits": number(&o.PeerBufferCredits, 0, maxCount),
		"credits":             number(&o.Credits, 0, maxCount),

		"map_on_demand":     number(&o.MapOnDemand, 0, 256),
		"fmr_pool_size":     number(&o.FMRPoolSize, 0, maxCount),
		"fmr_flush_trigger": number(&o.FMRFlushTrigger, 0, maxCount),
		"fmr_cache":         flag(&o.FMRCache),
	}
	maps.Copy(all, tunableSettings(o.Tunables()))
	return all
}

// checkO2IB refuses values of the section o2ib that do not fit together.
func (c *Config) checkO2IB(file string, at map[string]*token.Token) error {
	switch o, credits := &c.O2IB, c.O2IB.PeerCredits; {
	case credits == 0:
	case o.Credits > 0 && credits > o.Credits:
		return errorAt(file, at["peer_credits"], fmt.Errorf("peer_credits: %d for one peer are more than credits, which are %d for all", credits, o.Credits))
	case o.LND.PeerCreditsHIW >= credits:
		return errorAt(file, at["peer_credits_hiw"], fmt.Errorf("peer_credits_hiw: want less than peer_credits (%d), or a peer would wait for its credits", credits))
	case o.LND.ConcurrentSends > 2*credits:
		return errorAt(file, at["concurrent_sends"], fmt.Errorf("concurrent_sends: want at most twice peer_credits (%d)", 2*credits))
	}
	return nil
}

// peerCredits parses 0, or a number of credits that the protocol allows.
func peerCredits(to *int) setting {
	return setting{func(value ast.Node) error {
		n, err := integer(value, 0, 255)
		if err == nil && n > 0 && n < 8 {
			err = fmt.Errorf("want 0, or a number from 8 to 255, not %d: peers refuse less", n)
		}
		if err == nil {
			*to = n
		}
		return err
	}}
}
