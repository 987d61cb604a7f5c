//! Global settings, and those of a project that name agents.

use anyhow::Result;
use forge_testkit::Sandbox;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_forge_have_defaults_and_bounds_and_outlive_a_restart() -> Result<()> {
    let mut sandbox = Sandbox::new(json!({})).await?;
    let settings = |minutes: u32, most: u32| json!({ "orphan_minutes": minutes, "services_max": most, "terminal_remote": false });
    assert_eq!(sandbox.call("settings_get", json!({})).await?, settings(30, 4));
    for minutes in [0, 10_080] {
        let changed = sandbox.call("settings_update", json!({ "orphan_minutes": minutes })).await?;
        assert_eq!(changed, settings(minutes, 4));
    }
    for wrong in [json!(10_081), json!(-1), json!(1.5), json!("10")] {
        let refused = sandbox.call("settings_update", json!({ "orphan_minutes": wrong })).await.unwrap_err();
        let path = refused.details["findings"][0]["path"].as_str();
        assert_eq!((refused.status, path), (400, Some("orphan_minutes")), "{wrong}: {refused:?}");
    }
    for wrong in [0, 65] {
        let refused = sandbox.call("settings_update", json!({ "services_max": wrong })).await.unwrap_err();
        assert_eq!(refused.details["findings"][0]["path"], "services_max", "{refused:?}");
    }
    sandbox.call("settings_update", json!({ "services_max": 64 })).await?;
    let unchanged = sandbox.call("settings_update", json!({})).await?;
    assert_eq!(unchanged, settings(10_080, 64));
    sandbox.restart().await?;
    assert_eq!(sandbox.call("settings_get", json!({})).await?, unchanged);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_name_agents_that_there_are() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let patch = async |inner: serde_json::Value| {
        let patch = json!({ "project_id": sandbox.project, "innerLoop": inner });
        sandbox.call("project_settings_update", patch).await
    };
    for (setting, at) in [
        (json!({ "autoFix": { "agentId": "nosuch" } }), "innerLoop.autoFix.agentId"),
        (
            json!({ "competitive": { "strategies": [{ "name": "a", "agent_id": "nosuch" }] } }),
            "innerLoop.competitive.strategies[0].agent_id",
        ),
    ] {
        let refused = patch(setting).await.unwrap_err();
        let path = refused.details["findings"][0]["path"].as_str();
        assert_eq!((refused.status, path), (400, Some(at)), "{refused:?}");
    }
    patch(json!({ "autoFix": { "agentId": sandbox.agent } })).await?;
    Ok(())
}
