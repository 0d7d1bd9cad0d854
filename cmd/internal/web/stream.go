package web

import (
	"net/http"
	"time"
)

// eventTimeout is the time in which a client must receive an event of a stream.
const eventTimeout = 10 * time.Second

// SendEvent sends a JSON text as a server-sent event. If text is nil, it sends an SSE comment, which shows
// that the connection works. It returns false if the client cannot have received what was sent, such as a
// client that does not read for 10 s.
func SendEvent(w http.ResponseWriter, text []byte) bool {
	c := http.NewResponseController(w)
	if c.SetWriteDeadline(time.Now().Add(eventTimeout)) != nil {
		return false
	}
	event := []byte(":\n\n")
	if text != nil {
		event = append(append([]byte("data: "), text...), "\n\n"...)
	}
	_, err := w.Write(event)
	return err == nil && c.Flush() == nil
}
