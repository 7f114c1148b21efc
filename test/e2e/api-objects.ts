/** Kubernetes objects as the API server sends them: the fields that the end-to-end harness reads or writes. */

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly Readonly<Record<string, unknown>>[];
}

export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastHeartbeatTime?: string;
  readonly lastTransitionTime?: string;
}

export interface Taint {
  readonly key: string;
  readonly effect: string;
  readonly value?: string;
}

export interface Node extends ApiObject {
  readonly spec: {
    readonly providerID?: string;
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly nodeInfo?: Readonly<Record<string, unknown>> & { readonly bootID: string };
    readonly volumesInUse?: readonly string[];
    readonly volumesAttached?: readonly { readonly name: string; readonly devicePath: string }[];
  };
}

export interface CsiNodeDriver {
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys: readonly string[];
  readonly allocatable?: { readonly count: number };
}

export interface CsiNode extends ApiObject {
  readonly spec: { readonly drivers: readonly CsiNodeDriver[] | null };
}

export interface HttpGet {
  readonly path?: string;
  readonly port: number | string;
  readonly host?: string;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly lifecycle?: { readonly preStop?: { readonly httpGet?: HttpGet } };
}

export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly awsElasticBlockStore?: { readonly volumeID: string };
}

export interface Pod extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly Container[];
    readonly volumes?: readonly PodVolume[];
    readonly terminationGracePeriodSeconds?: number;
    readonly priorityClassName?: string;
  };
  readonly status?: {
    readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    readonly conditions?: readonly Condition[];
  };
}

export interface PersistentVolumeClaim extends ApiObject {
  readonly spec: { readonly volumeName?: string };
  readonly status?: { readonly phase?: string };
}

export interface PersistentVolume extends ApiObject {
  readonly spec: {
    readonly csi?: { readonly driver: string; readonly volumeHandle: string };
    readonly awsElasticBlockStore?: { readonly volumeID: string };
  };
}

export interface VolumeAttachment extends ApiObject {
  readonly spec: {
    readonly attacher: string;
    readonly nodeName: string;
    readonly source: Readonly<Record<string, unknown>>;
  };
  readonly status?: {
    readonly attached: boolean;
    readonly attachError?: { readonly message?: string };
    readonly detachError?: { readonly message?: string };
  };
}
