package workspace

import (
	"net/url"
	"strings"

	"approvalbot/internal/lazy"
)

// Services that give away credentials, or control a machine, a cluster or a browser, and
// trust every caller that reaches them.

var (
	// MetadataHosts hand out a cloud machine's credentials.
	MetadataHosts = lazy.Words(`169.254.169.254 169.254.170.2 169.254.170.23 metadata.google.internal metadata
		metadata.goog 100.100.100.200 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe 192.0.0.192 instance-data 168.63.129.16
		metadata.tencentyun.com metadata.platformequinix.com metadata.packet.net metadata.azure.com metadata.aliyun.com metadata.oraclecloud.com`)

	// metadataPaths are how such services answer, also behind a proxy.
	metadataPaths = lazy.Pattern(`^/+(?:latest/(?:meta-data|user-data|dynamic|api/token)|computemetadata/|metadata/(?:instance|identity|v1)|opc/v[12]/|openstack/)`)

	// controlPorts are those of Docker, etcd, a kubelet, a Kubernetes API, Consul, Vault,
	// Nomad, a browser's and Node's debugger, Caddy and Envoy.
	controlPorts = lazy.Words(`2375 2376 2377 4243 2379 2380 4001 10250 10255 10257 10259 6443 16443 8500 8501 8200 4646 9222 9229 2019 9901 15000`)

	// controlPaths are theirs at any port: kubectl proxy, Docker, Consul, Vault and the actuator of Spring.
	controlPaths = lazy.Pattern(`^/+(?:apis/|api/v1/(?:namespaces|secrets|configmaps|nodes|pods|serviceaccounts|persistentvolumes)(?:/|$)|v1\.\d+/|` +
		`containers/(?:json|[^/]+/(?:json|export|logs|archive|exec|attach|top))|v1/(?:kv|sys|secret|agent)/|actuator/(?:env|heapdump|configprops|threaddump|httpexchanges|loggers|mappings))`)
)

// metadata reports an address of a service that hands out a machine's credentials.
func metadata(host string, u *url.URL) bool {
	return MetadataHosts.Has(host) || metadataPaths.MatchString(strings.ToLower(u.Path))
}

// controls reports an address of such a control plane.
func controls(u *url.URL) bool {
	port, lower := u.Port(), strings.ToLower(u.Path)
	proxy := port == "8001" && strings.HasPrefix(lower, "/api") // kubectl's, beside many a server of a project
	return controlPorts.Has(strings.TrimLeft(port, "0")) || proxy || port != "" && controlPaths.MatchString(lower)
}
