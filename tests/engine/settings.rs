//! Settings of Forge as a whole, and those of a project that name agents.

use anyhow::Result;
use forge_testkit::Sandbox;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn orphan_minutes_have_a_default_and_bounds_and_outlive_a_restart() -> Result<()> {
    let mut sandbox = Sandbox::new(json!({})).await?;
    assert_eq!(sandbox.call("settings_get", json!({})).await?, json!({ "orphan_minutes": 30 }));
    for minutes in [0, 10_080] {
        let changed = sandbox.call("settings_update", json!({ "orphan_minutes": minutes })).await?;
        assert_eq!(changed, json!({ "orphan_minutes": minutes }));
    }
    for wrong in [json!(10_081), json!(-1), json!(1.5), json!("10")] {
        let refused = sandbox.call("settings_update", json!({ "orphan_minutes": wrong })).await.unwrap_err();
        let path = refused.details["findings"][0]["path"].as_str();
        assert_eq!((refused.status, path), (400, Some("orphan_minutes")), "{wrong}: {refused:?}");
    }
    let unchanged = sandbox.call("settings_update", json!({})).await?;
    assert_eq!(unchanged, json!({ "orphan_minutes": 10_080 }));
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
