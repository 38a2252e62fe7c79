package metrics

import "github.com/prometheus/client_golang/prometheus"

// Gauge is a value that is looked up at each scrape.
type Gauge struct {
	Name, Help string
	Label      string   // or empty
	Values     []string // of the label
}

// Gauges registers values that value looks up by name and label at each scrape;
// values that it does not know (false) are left out. It must be quick and safe
// for concurrent use.
func (m *Set) Gauges(prefix string, list []Gauge, value func(name, label string) (float64, bool)) {
	m.registry.MustRegister(&gauges{prefix, list, value})
}

type gauges struct {
	prefix string
	list   []Gauge
	value  func(name, label string) (float64, bool)
}

func (g *gauges) desc(x Gauge) *prometheus.Desc {
	var labels []string
	if x.Label != "" {
		labels = []string{x.Label}
	}
	return prometheus.NewDesc(g.prefix+x.Name, x.Help, labels, nil)
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, x := range g.list {
		out <- g.desc(x)
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	for _, x := range g.list {
		labels := [][]string{nil}
		if x.Label != "" {
			labels = nil
			for _, v := range x.Values {
				labels = append(labels, []string{v})
			}
		}
		for _, l := range labels {
			label := ""
			if len(l) > 0 {
				label = l[0]
			}
			if v, ok := g.value(x.Name, label); ok {
				out <- prometheus.MustNewConstMetric(g.desc(x), prometheus.GaugeValue, v, l...)
			}
		}
	}
}
