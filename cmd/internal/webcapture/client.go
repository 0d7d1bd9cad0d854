package webcapture

import (
	"net/http"
	"sync"
	"time"
)

// client is the http.ResponseWriter of a stream. After a call of endBy, SetWriteDeadline sets no deadline
// that is later than the one of endBy.
type client struct {
	http.ResponseWriter

	mu   sync.Mutex
	last time.Time // latest time that a deadline may have; zero: any. Guarded by mu
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

// endBy sets the time by which the present write, and each later one, must end.
func (c *client) endBy(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = t
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(t) // cannot fail for a writer to which events can be sent
}
