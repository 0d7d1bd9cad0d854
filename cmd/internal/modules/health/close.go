package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ulnet/cmd/internal/deadline"
	"ulnet/health"
)

const (
	// farewellWithin bounds the time in which a client that stops disconnects from its servers. It
	// is enough to send the message three times to a server that does not answer, and leaves most of
	// the time of a shutdown to other modules.
	farewellWithin = 2 * time.Second
	// recordsWithin bounds each of the two waits for the disk of the records: until they are opened or
	// read, and until they are closed. A commit that has begun may end later. If it never ends, the
	// file is as after a crash: what the server has confirmed to its clients is in it.
	recordsWithin = time.Second
)

// farewell closes the connection of the client. Servers that do not receive its message evict
// the client.
func (h *roles) farewell(ctx context.Context, client *health.Connection) {
	ctx, cancel := context.WithTimeout(ctx, farewellWithin)
	defer cancel()
	if err := client.Close(ctx); err != nil {
		h.log.Warn("client health: stopped without an answer", slog.Any("err", err))
	}
}

// Close ends the roles: first the client, which disconnects from its servers. Collectives and
// gossip are closed later. Close does not wait for a disk that does not answer.
func (m *Module) Close(ctx context.Context) error {
	h := m.roles
	if h == nil {
		return nil
	}
	close(h.quit)
	err := h.awaitDisk(ctx, "opened or read", h.workers.Wait)
	server, client := h.end()
	if client != nil {
		h.farewell(ctx, client)
	}
	if server != nil {
		err = errors.Join(err, server.Close(ctx))
	}
	if h.all != nil {
		h.all.Close()
	}
	if late, closed := h.store.end(), error(nil); late != nil {
		stuck := h.awaitDisk(ctx, "written", func() { closed = late.Close() })
		if err = errors.Join(err, stuck); stuck == nil {
			err = errors.Join(err, closed)
		}
	}
	h.events.close()
	if err != nil {
		return errors.Join(errors.New("close the records of connections"), err)
	}
	return nil
}

// end returns the roles that run, and starts none any more.
func (h *roles) end() (*health.ServerAgent, *health.Connection) {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	return h.roles()
}

// awaitDisk calls wait, which waits for the disk of the records, and returns an error if that takes
// too long. The argument doing says in that error what is being done with the records, such as "written".
func (h *roles) awaitDisk(ctx context.Context, doing string, wait func()) error {
	ctx, cancel := context.WithTimeout(ctx, recordsWithin)
	defer cancel()
	if err := deadline.Wait(ctx, wait); err != nil {
		return fmt.Errorf("%s is still being %s: its disk is slow or does not answer: %w", h.path, doing, err)
	}
	return nil
}
