package webcapture

import (
	"net/http"
	"sync"
	"time"
)

// client is the receiver of a stream. The deadline that endBy sets also limits the later deadlines that
// the sender of an event sets.
type client struct {
	http.ResponseWriter

	mu   sync.Mutex
	last time.Time // no deadline is later; zero: there is no such time. Guarded by mu
}

// Unwrap lets http.ResponseController find the other methods.
func (c *client) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// SetWriteDeadline is called by http.ResponseController.
func (c *client) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && t.After(c.last) {
		t = c.last
	}
	return http.NewResponseController(c.ResponseWriter).SetWriteDeadline(t)
}

// endBy sets the time at which the present write ends at the latest, and with it all later ones.
func (c *client) endBy(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = t
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(t) // cannot fail where events are sent
}
