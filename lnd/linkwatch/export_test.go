package linkwatch

// Again makes the watcher begin a round of dumps, whose end calls changed.
func (w *Watcher) Again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tracker.again = true
}
