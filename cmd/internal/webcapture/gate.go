package webcapture

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of wrong tokens (token buckets): so many at once from an address, and then one in each
// wrongInterval. The bound is for a few addresses each; all further ones share one.
const (
	maxWrong      = 10
	wrongInterval = 2 * time.Second
	maxAddresses  = 64
	logInterval   = time.Minute // between two lines of the log about wrong tokens
)

// gate lets requests with the token pass. The zero value is ready for use.
type gate struct {
	wrong atomic.Uint64 // requests with a wrong token or without one

	mu     sync.Mutex
	tries  map[netip.Addr]*bucket // by address; guarded by mu, like the fields below
	logged time.Time              // when the log last told of a wrong token
}

// bucket counts wrong tokens, each of which is forgotten after wrongInterval.
type bucket struct {
	wrong int
	since time.Time // up to when they are counted
}

// guarded returns a handler that answers only requests with the token.
func (c *Capture) guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.cfg.Token == nil {
			http.Error(w, "this lnetd gives no captures to browsers: set metrics_capture_token to a file with a token (docs/operations.md)", http.StatusNotFound)
			return
		}
		from := addressOf(r)
		if !c.gate.mayTry(from, time.Now()) {
			w.Header().Set("Retry-After", "20")
			http.Error(w, "too many wrong tokens from this address: wait", http.StatusTooManyRequests)
			return
		}
		token, err := c.cfg.Token()
		if err != nil {
			c.cfg.Log.Error("the token of captures cannot be read", slog.Any("err", err))
			http.Error(w, "the token cannot be read: the log of lnetd says why", http.StatusServiceUnavailable)
			return
		}
		if !hasToken(r, token) {
			c.denied(w, from)
			return
		}
		next(w, r)
	})
}

// hasToken reports whether a request has the token. It takes the same time for each wrong token.
func hasToken(r *http.Request, token []byte) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256(token)
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && ok && len(token) > 0
}

// denied answers a request without the token.
func (c *Capture) denied(w http.ResponseWriter, from netip.Addr) {
	n := c.gate.wrong.Add(1)
	if c.gate.note(from, time.Now()) {
		c.cfg.Log.Warn("a request for a capture had a wrong token", slog.Any("from", from), slog.Uint64("wrong", n))
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, "the token is wrong: it is in the file that metrics_capture_token names", http.StatusUnauthorized)
}

// addressOf returns the address of a client, of IPv6 the network with 64 bits, which one client may
// have; for a Unix socket the zero value.
func addressOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := ap.Addr().Unmap()
	if addr.Is6() {
		network, _ := addr.WithZone("").Prefix(64) // cannot fail
		return network.Addr()
	}
	return addr
}

// mayTry reports whether an address may try a token.
func (g *gate) mayTry(from netip.Addr, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.tries[g.keyOf(from)]
	return b == nil || b.at(now) < maxWrong
}

// note counts a wrong token, and reports whether the log is to tell of it.
func (g *gate) note(from netip.Addr, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for addr, b := range g.tries { // any order: each one is judged for itself
		if b.at(now) == 0 {
			delete(g.tries, addr)
		}
	}
	if g.tries == nil {
		g.tries = map[netip.Addr]*bucket{}
	}
	key := g.keyOf(from)
	b := g.tries[key]
	if b == nil {
		b = &bucket{since: now}
		g.tries[key] = b
	}
	b.wrong = b.at(now) + 1
	tell := g.logged.IsZero() || now.Sub(g.logged) >= logInterval
	if tell {
		g.logged = now
	}
	return tell
}

// others is the address that stands for those that have no bucket of their own.
var others = netip.IPv4Unspecified()

// keyOf returns the address under which one is counted. The caller holds mu.
func (g *gate) keyOf(from netip.Addr) netip.Addr {
	if _, known := g.tries[from]; known || len(g.tries) < maxAddresses {
		return from
	}
	return others
}

// at forgets what is old, and returns the number of wrong tokens that count.
func (b *bucket) at(now time.Time) int {
	old := int(now.Sub(b.since) / wrongInterval)
	b.wrong = max(0, b.wrong-old)
	b.since = b.since.Add(time.Duration(old) * wrongInterval)
	return b.wrong
}
