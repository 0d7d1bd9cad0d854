package webcapture

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// logInterval is the time between two lines of the log of one kind.
const logInterval = time.Minute

// gate lets requests with the token pass. A token is too long to be guessed, so wrong tokens, however many
// come, block no address: behind ssh or a proxy, a request with the right token may come from the same
// address. The zero value is ready for use.
type gate struct {
	wrong  atomic.Uint64 // requests with a wrong token or without one
	denied seldom        // bounds the lines of the log about wrong tokens
	unread seldom        // bounds the lines of the log about a token that cannot be read
}

// seldom lets a log line of one kind pass once per logInterval, because clients without the token can cause
// such a line by each request.
type seldom struct {
	mu     sync.Mutex
	logged time.Time // when the line was last logged; guarded by mu
}

// guarded returns a handler that answers only requests with the token.
func (c *Capture) guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.cfg.Token == nil {
			http.Error(w, "this lnetd gives no captures to browsers: set metrics_capture_token to a file with a token (docs/operations.md)", http.StatusNotFound)
			return
		}
		token, err := c.cfg.Token()
		if err != nil {
			if c.gate.unread.tells(time.Now()) {
				c.cfg.Log.Error("the token of captures cannot be read", slog.Any("err", err))
			}
			http.Error(w, "the token cannot be read: the log of lnetd says why", http.StatusServiceUnavailable)
			return
		}
		if !hasToken(r, token) {
			c.denied(w, r)
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
func (c *Capture) denied(w http.ResponseWriter, r *http.Request) {
	n := c.gate.wrong.Add(1)
	if c.gate.denied.tells(time.Now()) {
		c.cfg.Log.Warn("a request for a capture had a wrong token", slog.String("from", r.RemoteAddr), slog.Uint64("wrong", n))
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, "the token is wrong: it is in the file that metrics_capture_token names", http.StatusUnauthorized)
}

// tells reports whether the line is to be logged now.
func (s *seldom) tells(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.logged.IsZero() && now.Sub(s.logged) < logInterval {
		return false
	}
	s.logged = now
	return true
}
