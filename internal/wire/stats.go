package wire

import (
	"slices"
	"strings"
)

const (
	// maxNoise is how many lines of noise are kept, maxNoiseLine how many bytes of
	// each, after maxNoiseRead of it were redacted.
	maxNoise     = 8
	maxNoiseLine = 512
	maxNoiseRead = 64 << 10
)

// Stats is what a connection has counted so far.
type Stats struct {
	// Received and Sent count frames.
	Received, Sent int64
	// NoiseLines counts lines that were no frames. Noise has the first few of them,
	// redacted and cut.
	NoiseLines int64
	Noise      []string
	// Late counts replies to calls that had been given up, Duplicate those to calls
	// that had been answered, Stray those to calls that never were.
	Late, Duplicate, Stray int64
	// Dropped counts notifications of a known method that were larger than the limit or
	// too complex, Complex those that were too complex, see TooComplexError. Reduced counts
	// notifications and replies that were read without the fields that made them too
	// complex.
	Dropped, Complex, Reduced int64
	// Panics counts callbacks, handlers and hooks that panicked or ended their
	// goroutine, and frames that made the reading of them panic.
	Panics int64
	// Open is how many requests of the peer wait for an answer now.
	Open int
}

// Stats returns the counts of this moment.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Received, s.Sent = c.frames.Load(), c.sent.Load()
	s.Noise = slices.Clone(s.Noise)
	s.Open = c.open
	return s
}

func (c *Conn) count(n *int64) {
	c.mu.Lock()
	*n++
	c.mu.Unlock()
}

// noise takes a line that is no frame.
func (c *Conn) noise(line []byte) {
	c.mu.Lock()
	c.stats.NoiseLines++
	keep := c.stats.NoiseLines <= maxNoise
	c.mu.Unlock()
	c.log("noise", "", nil, len(line))
	if !keep {
		return
	}
	text := c.excerpt(line)
	c.mu.Lock()
	c.stats.Noise = append(c.stats.Noise, strings.TrimRight(text, "\r"))
	c.mu.Unlock()
}

// excerpt returns the beginning of text, redacted before it is cut.
func (c *Conn) excerpt(text []byte) string {
	shown := c.redact(string(validUTF8(text[:min(len(text), maxNoiseRead)])))
	if len(shown) > maxNoiseLine {
		shown = strings.ToValidUTF8(shown[:maxNoiseLine], "") + "…"
	}
	return shown
}

// redact returns nothing of what Options.Redact panics on.
func (c *Conn) redact(text string) string {
	if c.opts.Redact == nil {
		return text
	}
	defer c.hush()
	return c.opts.Redact(text)
}
