package tools

func k8sSpecGetTool() Tool { return k8sGetTool("k8s-spec-get", k8sPodSpec) }
